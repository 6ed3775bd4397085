"""The systems of the paper's tables, one file each, behind one interface (SPEC 12).

Every method asks the same agents through the same :class:`~maci.lab.methods.session.Session`, which keeps the budget and the count.
"""

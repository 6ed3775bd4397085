"""The systems of the paper's tables, behind one interface (SPEC 12).

Every method asks the same agents through the same :class:`~maci.lab.methods.method.Hearing`, which keeps the budget and the count.
"""

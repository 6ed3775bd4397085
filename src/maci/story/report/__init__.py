"""A debate as a page or a note: verdict first, then the story, the evidence and the audit."""

"""The laboratory: data sets, methods, studies, audits and theory. Nothing that debates imports it."""

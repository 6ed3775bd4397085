"""Pages people look at: markup that escapes, one design, charts as SVG. Reports, studies, `verify` and the web app share it."""

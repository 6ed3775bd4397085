"""Pages: values in, markup out. Nothing here reads a file or a request."""

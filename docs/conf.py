"""The documentation site: `make docs`. Built without a network; nothing of it is loaded from another host."""

import maci

project = "MACI"
author = "MACI maintainers"
project_copyright = f"{author}. Apache-2.0"
version = release = maci.__version__

extensions = ["myst_parser"]
exclude_patterns = ["_build", "schemas"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "MACI"
html_static_path: list[str] = []
html_copy_source = False
html_show_search_summary = False  # it would fetch pages, which a browser refuses for files
html_show_sourcelink = False
html_theme_options = {"footer_icons": [], "top_of_page_buttons": []}
pygments_style = "default"

"""The site: pages about a project's history, made by a plug-in of MkDocs."""

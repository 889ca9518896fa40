"""The REST side: endpoints by subject, and `Rest`, the ASGI application over them."""

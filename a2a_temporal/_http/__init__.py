"""What stands between the socket and the request handler: limits, versions, operations, streams.

The bindings of version 1.0 are served here; those of 0.3 by the SDK's adapters.
"""

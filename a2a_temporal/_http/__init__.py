"""What stands between the socket and the request handler: limits, versions, streams, health.

The SDK's route builders stay in charge of the protocol; these modules mend what they leave open.
"""

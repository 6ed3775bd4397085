"""The encoders behind :func:`maci.evidence.encode.load_encoder`, one file each, loaded when asked for."""

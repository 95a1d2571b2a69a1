"""KubeFed's kinds in every form that its releases had: forms, definitions, and what their objects say."""

"""What Vitess stores in its lockserver and says to tablets: the messages, as frozen values."""

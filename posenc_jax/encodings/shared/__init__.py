"""What several encodings are made of; none of it is an encoding, and none of it knows one."""

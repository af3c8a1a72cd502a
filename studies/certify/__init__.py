"""What campaigns promise and what they cost, measured: see docs/measured/certify.md."""

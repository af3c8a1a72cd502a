"""What campaigns promise and what they cost, measured: see docs/certify-measured.md."""

"""Are promises kept, and what do they cost?

validity       how often promises are false, in small worlds with an adversary who stops then
total_error    `max_error` on labels by machines, beside PAC labeling and the best possible
unseen         a precision of rows that nobody looked at, beside a uniform sample at one look
recall         rows read until a recall is proved
audit          intervals over whole paths, and their widths
"""

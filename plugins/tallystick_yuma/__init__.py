"""The chain's Yuma epoch in whole numbers: weights of validators to incentive, trust, dividends."""

package app

// InClaimOrder is inClaimOrder for the tests.
var InClaimOrder = inClaimOrder

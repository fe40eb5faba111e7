package catalog

// Standard declares the functions that every worker offers, without
// implementations, for callers that need the declarations only. The caller may
// change the slice, but not the data that its elements share.
func Standard() []Function {
	return []Function{
		NewEntraUser,
		SetEntraUserUPN,
		AddEntraGroupMember,
		RemoveEntraGroupMember,
		NewEntraB2BInvitation,
		ConvertEntraB2BToInternal,
		SetEntraUserEnabled,
		SetEntraUserAttributes,
		SetEntraUserManager,
		RevokeEntraUserSessions,
		AddEntraUserLicense,
		RemoveEntraUserLicense,
		TestEntraUserLicense,
		SetEntraProxyAddresses,
		RemoveEntraUser,
		SendAdminAlert,
		TestEntraAttributeMatch,
		TestEntraGroupMembership,
		TestEntraAddressAvailable,
		TestEntraDomainVerified,
		TestEntraLicenseAvailable,
		AddExchangeSecondaryEmail,
		SetExchangePrimaryEmail,
		SetExchangeExternalAddress,
		SetExchangeMailUserGuids,
		SetExchangeHidden,
		SetExchangeForwarding,
		RemoveExchangeForwarding,
		NewExchangeMailUser,
		TestExchangeMailUser,
		TestExchangeAttributeMatch,
		TestExchangeGroupMembership,
		InvokeGraphRequest,
		InvokeExchangeCommand,
	}
}

package catalog

// Standard defines the functions that every worker offers, with nothing to run:
// for whoever has to know what can be asked for without being able to do it. The
// caller may change the slice, but not what its elements refer to.
func Standard() []Function {
	return []Function{
		NewEntraUser,
		SetEntraUserUPN,
		AddEntraGroupMember,
		RemoveEntraGroupMember,
		NewEntraB2BInvitation,
		ConvertEntraB2BToInternal,
		SetEntraUserEnabled,
		SetEntraProxyAddresses,
		RemoveEntraUser,
		SendAdminAlert,
		TestEntraAttributeMatch,
		TestEntraGroupMembership,
		AddExchangeSecondaryEmail,
		SetExchangePrimaryEmail,
		SetExchangeExternalAddress,
		SetExchangeMailUserGuids,
		TestExchangeAttributeMatch,
		TestExchangeGroupMembership,
	}
}

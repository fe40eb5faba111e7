// A NAT gateway with one static public address, for the outbound traffic of a private network to
// Entra ID, Microsoft Graph, Exchange Online, the registry, Azure Monitor and data sources. New
// networks have no default outbound access.
//
// The SKU Standard works in one zone. StandardV2 survives the loss of a zone, but does not support
// subnets delegated to Container Apps.

@description('Name of the gateway.')
param gatewayName string

@description('Name of its public address.')
param addressName string

@description('Region of both, which is that of the network.')
param location string

@description('Tags of both.')
param tags object

@description('Availability zone of both. Empty: Azure chooses one. It cannot be changed later.')
@allowed([
  ''
  '1'
  '2'
  '3'
])
param zone string

var zones = empty(zone)
  ? []
  : [
      zone
    ]

resource address 'Microsoft.Network/publicIPAddresses@2025-05-01' = {
  name: addressName
  location: location
  tags: tags
  zones: zones
  sku: {
    name: 'Standard'
    tier: 'Regional'
  }
  properties: {
    publicIPAddressVersion: 'IPv4'
    publicIPAllocationMethod: 'Static'
  }
}

resource gateway 'Microsoft.Network/natGateways@2025-05-01' = {
  name: gatewayName
  location: location
  tags: tags
  zones: zones
  sku: {
    name: 'Standard'
  }
  properties: {
    idleTimeoutInMinutes: 4
    publicIpAddresses: [
      {
        id: address.id
      }
    ]
  }
}

@description('Resource id of the gateway.')
output gatewayId string = gateway.id

@description('Public address of outbound traffic.')
output address string = address.properties.ipAddress

// The way out of a private network: a NAT gateway with one public address, which never
// changes. Azure gives new networks no way out by themselves any more, and who lets in
// by address only, as data sources do, is told this one.
//
// Service Bus, the vault, storage and Cosmos DB are not reached this way: they have private
// endpoints. Entra ID, Microsoft Graph, Exchange Online, the registry, Azure Monitor and data
// sources are.
//
// This is the kind Standard, which works in one zone: StandardV2, which outlives a zone,
// cannot be attached to subnets that are delegated to Container Apps.

@description('Name of the gateway.')
param gatewayName string

@description('Name of its public address.')
param addressName string

@description('Region of both: that of the network.')
param location string

@description('Tags of both.')
param tags object

@description('Zone of both; empty: Azure chooses. It cannot be changed once they are there.')
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

@description('The address that others see.')
output address string = address.properties.ipAddress

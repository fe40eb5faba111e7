// A private endpoint of a service, and its record in the private DNS zone.

@description('Name of the endpoint.')
param endpointName string

@description('Region of the endpoint, which is that of its network.')
param location string

@description('Tags of the endpoint.')
param tags object

@description('Resource id of the subnet of the endpoint.')
param subnetId string

@description('Resource id of the service.')
param targetId string

@description('Part of the service: vault, namespace, Sql, blob, queue, table or sites.')
param groupId string

@description('Name of the private DNS zone in this resource group.')
param zoneName string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' existing = {
  name: zoneName
}

resource endpoint 'Microsoft.Network/privateEndpoints@2025-05-01' = {
  name: endpointName
  location: location
  tags: tags
  properties: {
    // The default name is random.
    customNetworkInterfaceName: '${endpointName}-nic'
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: endpointName
        properties: {
          privateLinkServiceId: targetId
          groupIds: [
            groupId
          ]
        }
      }
    ]
  }
}

// The group updates the record when the endpoint's address changes.
resource record 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: groupId
        properties: {
          privateDnsZoneId: zone.id
        }
      }
    ]
  }
}

@description('Resource id of the endpoint.')
output endpointId string = endpoint.id

// The private DNS zones of all private endpoints, also those of the second stage, and their links to
// the network. A network can have only one link to a zone.

@description('Resource id of the virtual network.')
param virtualNetworkId string

@description('Name of the links.')
param linkName string

@description('Tags of the zones and links.')
param tags object

var zoneNames = [
  'privatelink.documents.azure.com'
  'privatelink.servicebus.windows.net'
  'privatelink.vaultcore.azure.net'
  'privatelink.blob.${environment().suffixes.storage}'
  'privatelink.queue.${environment().suffixes.storage}'
  'privatelink.table.${environment().suffixes.storage}'
  'privatelink.azurewebsites.net'
]

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for zone in zoneNames: {
    name: zone
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (zone, i) in zoneNames: {
    parent: zones[i]
    name: linkName
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: virtualNetworkId
      }
    }
  }
]

@description('Names of the zones.')
output zoneNames array = zoneNames

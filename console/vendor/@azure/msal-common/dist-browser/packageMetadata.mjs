/*! @azure/msal-common v16.16.1 2026-11-06 */
'use strict';
/* eslint-disable header/header */
const name = "@azure/msal-common";
const version = "16.16.1";

export { name, version };
//# sourceMappingURL=packageMetadata.mjs.map

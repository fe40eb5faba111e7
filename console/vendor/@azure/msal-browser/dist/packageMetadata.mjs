/*! @azure/msal-browser v5.29.0 2026-11-06 */
'use strict';
/* eslint-disable header/header */
const name = "@azure/msal-browser";
const version = "5.29.0";

export { name, version };
//# sourceMappingURL=packageMetadata.mjs.map

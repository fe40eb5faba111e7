/*! @azure/msal-common v16.16.1 2026-11-06 */
'use strict';
/*
 * Copyright (c) Microsoft Corporation. All rights reserved.
 * Licensed under the MIT License.
 */
// Track only our normalized copies, never caller-owned mutable inputs.
const normalizedHeaderRecords = new WeakSet();
/**
 * Creates a lowercase-keyed snapshot without changing header values or the input.
 * Reuses snapshots produced by this function to avoid repeated normalization.
 * @internal
 */
function normalizeResponseHeaders(headers) {
    if (normalizedHeaderRecords.has(headers)) {
        return headers;
    }
    const normalized = Object.fromEntries(Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        value,
    ]));
    normalizedHeaderRecords.add(normalized);
    return normalized;
}
/**
 * Reads a response header case-insensitively.
 * Normalized snapshots are never scanned, even when a header is missing.
 * @internal
 */
function getResponseHeader(headers, name) {
    const key = name.toLowerCase();
    if (Object.prototype.hasOwnProperty.call(headers, key)) {
        return headers[key];
    }
    if (normalizedHeaderRecords.has(headers)) {
        return undefined;
    }
    const headerName = Object.keys(headers).find((header) => header.toLowerCase() === key);
    return headerName === undefined ? undefined : headers[headerName];
}

export { getResponseHeader, normalizeResponseHeaders };
//# sourceMappingURL=ResponseHeaders.mjs.map

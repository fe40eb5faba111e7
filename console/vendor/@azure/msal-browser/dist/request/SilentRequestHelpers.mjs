/*! @azure/msal-browser v5.29.0 2026-11-06 */
'use strict';
import { getRequestThumbprint, ScopeSet, Constants } from '@azure/msal-common/browser';
import { isPlatformAuthAllowed } from '../broker/nativeBroker/PlatformAuthProvider.mjs';
import { CacheLookupPolicy } from '../utils/BrowserConstants.mjs';

/*
 * Copyright (c) Microsoft Corporation. All rights reserved.
 * Licensed under the MIT License.
 */
/**
 * Selects request preparation using the current account and broker availability.
 */
function resolveSilentRequestPreparation(input, platformAuthProvider, logger, performanceClient) {
    const { request, account, correlationId, config } = input;
    const prepareRequest = account.nativeAccountId &&
        isPlatformAuthAllowed(config, logger, correlationId, platformAuthProvider, request.authenticationScheme, performanceClient)
        ? preparePlatformSilentRequest
        : prepareWebSilentRequest;
    return prepareRequest(input);
}
/**
 * Extends the web thumbprint with silent-flow options while preserving caller-owned references.
 */
function prepareWebSilentRequest({ request, account, correlationId, config, }) {
    const thumbprint = getRequestThumbprint(config.auth.clientId, {
        ...request,
        authority: request.authority || config.auth.authority,
        correlationId: correlationId,
    }, account.homeAccountId);
    return {
        key: JSON.stringify({
            ...thumbprint,
            forceRefresh: !!request.forceRefresh,
            cacheLookupPolicy: request.cacheLookupPolicy ?? CacheLookupPolicy.Default,
            extraParameters: canonicalizeStringDict(request.extraParameters),
            extraQueryParameters: canonicalizeStringDict(request.extraQueryParameters),
        }),
        request,
        account,
    };
}
/**
 * Snapshots broker inputs and creates the extended key before acquisition begins.
 */
function preparePlatformSilentRequest({ request, account, config, }) {
    const platformRequest = snapshotPlatformSilentRequest({
        ...request,
        account,
    });
    return {
        key: `platform:${getPlatformSilentRequestKey(platformRequest, config)}`,
        request: platformRequest,
        account: platformRequest.account,
    };
}
/**
 * Extends the common thumbprint with broker and client-side silent-flow inputs.
 * Scopes are normalized like the broker request, without folding their casing.
 */
function getPlatformSilentRequestKey(request, config) {
    const thumbprint = getRequestThumbprint(config.auth.clientId, {
        ...request,
        authority: request.authority || config.auth.authority,
        correlationId: request.correlationId || "",
        scopes: new ScopeSet([...(request.scopes || []), ...Constants.OIDC_DEFAULT_SCOPES], request.correlationId || "")
            .asArray()
            .sort(),
    }, request.account.homeAccountId);
    return JSON.stringify({
        ...thumbprint,
        accountId: request.account.nativeAccountId,
        accountTenantId: request.account.tenantId,
        accountEnvironment: request.account.environment,
        azureCloudInstance: request.azureCloudOptions?.azureCloudInstance,
        cloudTenantId: request.azureCloudOptions?.tenant,
        redirectUri: request.redirectUri || config.auth.redirectUri,
        nonce: request.nonce,
        prompt: request.prompt,
        state: request.state,
        loginHint: request.loginHint,
        popKid: request.popKid,
        shrNonce: request.shrNonce,
        dpopNonce: request.dpopNonce,
        skipBrokerClaims: request.embeddedClientId
            ? !!request.skipBrokerClaims
            : undefined,
        extraParameters: canonicalizeStringDict(request.extraParameters),
        extraQueryParameters: canonicalizeStringDict(request.extraQueryParameters),
        forceRefresh: !!request.forceRefresh,
        cacheLookupPolicy: request.cacheLookupPolicy ?? CacheLookupPolicy.Default,
    });
}
/**
 * Copies caller-owned mutable inputs before asynchronous broker initialization.
 */
function snapshotPlatformSilentRequest(request) {
    const snapshot = {
        ...request,
    };
    delete snapshot.extraParametersNoCache;
    return {
        ...snapshot,
        scopes: [...(request.scopes || [])],
        account: { ...request.account },
        azureCloudOptions: request.azureCloudOptions
            ? { ...request.azureCloudOptions }
            : undefined,
        extraParameters: request.extraParameters
            ? { ...request.extraParameters }
            : undefined,
        extraQueryParameters: request.extraQueryParameters
            ? { ...request.extraQueryParameters }
            : undefined,
        attributeTokens: request.attributeTokens
            ? [...request.attributeTokens]
            : undefined,
        storeInCache: request.storeInCache
            ? { ...request.storeInCache }
            : undefined,
    };
}
/**
 * Canonicalizes dictionary ordering while preserving exact parameter values.
 */
function canonicalizeStringDict(values = {}) {
    return Object.keys(values)
        .sort()
        .map((key) => [key, values[key]]);
}

export { preparePlatformSilentRequest, prepareWebSilentRequest, resolveSilentRequestPreparation };
//# sourceMappingURL=SilentRequestHelpers.mjs.map

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/exchange"
	"github.com/matoolkit/matoolkit/worker/exchange/session"
	"github.com/matoolkit/matoolkit/worker/graph"
	"github.com/matoolkit/matoolkit/worker/notify"
	"github.com/matoolkit/matoolkit/worker/permission"
	"github.com/matoolkit/matoolkit/worker/program"
	"github.com/matoolkit/matoolkit/worker/standard"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// verifyCommand compares the permissions of the app registration with those that functions need. It takes no jobs.
func verifyCommand(getenv func(string) string) *cobra.Command {
	return &cobra.Command{
		Use:   "verify [FUNCTION]...",
		Short: "Check the permissions of this worker in its tenant",
		Long: "Signs in with the settings of the worker, calls Microsoft Graph and Exchange Online once, and compares the\n" +
			"permissions in its tokens with those that its functions, or the named ones, need. It takes no jobs. The exit status\n" +
			"is 0 if nothing is missing.",
		Example: "  worker verify\n  worker verify New-EntraUser Set-ExchangeForwarding",
		RunE: func(cmd *cobra.Command, names []string) error {
			lines, err := verifyPermissions(cmd.Context(), getenv, names)
			for _, line := range lines {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			return err
		},
	}
}

// verifyTime bounds the sign-in and the two calls.
const verifyTime = time.Minute

// verifyPermissions returns a line for each function, and an error if one lacks a permission.
func verifyPermissions(ctx context.Context, getenv func(string) string, names []string) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	c, err := loadConfig(getenv)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	web, err := tlsroots.HTTPClient(c.CAFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tlsroots.EnvCAFile, err)
	}
	vault, err := openVault(c, web)
	if err != nil {
		return nil, fmt.Errorf("Azure sign-in: %w", err)
	}
	tenant, err := signIn(ctx, c, vault, web, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, fmt.Errorf("target tenant credential: %w", err)
	}
	defer tenant.Close()
	g, err := graph.New(graph.Config{URL: c.Graph.URL, Scope: c.Graph.Scope, Credential: tenant, HTTP: web, Policy: throttle.Default()})
	if err != nil {
		return nil, fmt.Errorf("Microsoft Graph: %w", err)
	}
	x, err := exchange.New(session.Config{URL: c.Exchange.URL, Scope: c.Exchange.Scope, TenantID: c.TenantID, Credential: tenant, HTTP: web, Policy: throttle.Default()}, exchange.Cmdlets{})
	if err != nil {
		return nil, fmt.Errorf("Exchange Online: %w", err)
	}
	extra, err := customFunctions(c, getenv, tenant)
	if err != nil {
		return nil, fmt.Errorf("custom functions, %s:\n%w", program.EnvCustomDir, err)
	}
	all, err := standard.Functions(notify.Config{Graph: g}, c.PasswordKey, x, c.NoOp, extra.Functions()...)
	if err != nil {
		return nil, err
	}
	functions, err := named(all.Functions(), names)
	if err != nil {
		return nil, err
	}
	var granted permission.Grants
	for _, api := range []struct {
		scope string
		roles *[]string
	}{{c.Graph.Scope, &granted.Graph}, {c.Exchange.Scope, &granted.Exchange}} {
		token, err := tenant.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{api.scope}})
		if err != nil {
			return nil, fmt.Errorf("no token for %s: %w", api.scope, err)
		}
		if *api.roles, err = permission.Granted(token.Token); err != nil {
			return nil, fmt.Errorf("%s: %w", api.scope, err)
		}
	}
	lines, lacking := compared(functions, granted)
	// The directory role of Exchange Online is in no token: only a call shows it.
	for _, api := range []struct {
		name  string
		trial func(context.Context) error
	}{{"Microsoft Graph", g.Trial}, {"Exchange Online", x.Trial}} {
		if failed := api.trial(ctx); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", api.name, failed))
			continue
		}
		lines = append(lines, api.name+" answers.")
	}
	if lacking > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d functions lack permissions: grant them to the app registration %s, with admin consent, or do not use these functions", lacking, len(functions), c.AppID))
	}
	return lines, err
}

// named returns the functions with these names, or all if there are no names.
func named(all []catalog.Function, names []string) (found []catalog.Function, err error) {
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(f catalog.Function) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			return nil, fmt.Errorf("this worker has no function %q; see worker functions", name)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// compared returns a line for each function, and how many lack a permission.
func compared(functions []catalog.Function, granted permission.Grants) (lines []string, lacking int) {
	for _, f := range functions {
		if missing := permission.Missing(granted, f); len(missing) > 0 {
			lacking++
			lines = append(lines, fmt.Sprintf("%-28s lacks %s", f.Name, strings.Join(missing, ", ")))
			continue
		}
		lines = append(lines, fmt.Sprintf("%-28s ok", f.Name))
	}
	return lines, lacking
}

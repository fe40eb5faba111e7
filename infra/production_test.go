package infra_test

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/infra/bicep"
	"github.com/matoolkit/matoolkit/infra/templates"
	"github.com/matoolkit/matoolkit/internal/alert"
)

// production returns the deployment of a stage with its parameter file for production, completed
// with what an administrator writes there.
func production(t *testing.T, stage string) (*bicep.Deployment, map[string]any) {
	t.Helper()
	given := parameterFile(t, strings.TrimSuffix(stage, ".bicep")+".parameters.prod.json")
	if stage == templates.Functions {
		given["alertEmails"] = []any{"a@example.com"}
	}
	return templates.Deploy(t, stage, given), given
}

// TestProductionHasEqualZones: the zones of a stage cannot change later, and a zone's outage stops
// the system if one stage has a single zone.
func TestProductionHasEqualZones(t *testing.T) {
	t.Parallel()
	for _, stage := range templates.Stages {
		_, given := production(t, stage)
		for _, p := range parsed(t, stage).Parameters {
			if p.Text == "zoneRedundant" && given[p.Text] != true {
				t.Errorf("%s: zoneRedundant is %v", stage, given[p.Text])
			}
			// Azure runs two instances of each group with any number above 0.
			if n, set := given[p.Text].(int64); strings.HasPrefix(p.Text, "alwaysReady") && set && n != 0 && n < 2 {
				t.Errorf("%s: %s is %d with zones", stage, p.Text, n)
			}
		}
	}
}

// TestLogsHaveADailyCap: a loop that logs must not cost more than the system.
func TestLogsHaveADailyCap(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"dev", "prod"} {
		given := parameterFile(t, "infra/shared/deploy.parameters."+environment+".json")
		if quota, _ := given["logDailyQuotaGb"].(int64); quota < 1 {
			t.Errorf("%s: logDailyQuotaGb is %v", environment, given["logDailyQuotaGb"])
		}
	}
}

// TestProductionScalesByMessageCount: without the count the platform starts instances one by one.
func TestProductionScalesByMessageCount(t *testing.T) {
	t.Parallel()
	d, _ := production(t, templates.Functions)
	owners := 0
	for _, r := range d.Of("Microsoft.Authorization/roleAssignments") {
		if roleNames[path.Base(r.At("properties", "roleDefinitionId").(string))] == "Azure Service Bus Data Owner" {
			owners++
		}
	}
	if owners != 2 {
		t.Errorf("the app is Data Owner of %d subscriptions", owners)
	}
}

// TestProductionLocksData: resources that store data have a lock, unless their deletion can be
// undone by a deployment.
func TestProductionLocksData(t *testing.T) {
	t.Parallel()
	var locked []string
	for _, stage := range templates.Stages {
		d, _ := production(t, stage)
		for _, r := range d.Of("Microsoft.Authorization/locks") {
			if r.At("properties", "level") != "CanNotDelete" {
				t.Errorf("%s: the level is %v", r.File, r.At("properties", "level"))
			}
			locked = append(locked, r.Scope.Type)
		}
		if locks := templates.Deploy(t, stage, nil).Of("Microsoft.Authorization/locks"); len(locks) > 0 {
			t.Errorf("%s: locks by default", stage)
		}
	}
	slices.Sort(locked)
	if want := []string{"Microsoft.DocumentDB/databaseAccounts", "Microsoft.KeyVault/vaults", "Microsoft.ServiceBus/namespaces"}; !slices.Equal(locked, want) {
		t.Errorf("locks are on %v, want %v", locked, want)
	}
}

// TestRoleAssignmentsHaveAPrincipalType: without the type, Azure looks up a new identity in Entra
// ID, which may not know it yet, and refuses the deployment.
func TestRoleAssignmentsHaveAPrincipalType(t *testing.T) {
	t.Parallel()
	for stage, all := range variants {
		for _, others := range all {
			for _, r := range templates.Deploy(t, stage, others).Of("Microsoft.Authorization/roleAssignments") {
				if kind, _ := r.At("properties", "principalType").(string); kind == "" {
					t.Errorf("%s: %s has no principalType", r.File, r.Symbol)
				}
			}
		}
	}
}

func TestAlertsRequireReceivers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stage      string
		parameters map[string]any
		refused    bool
		enabled    any
	}{
		"no receiver":     {templates.Functions, map[string]any{"alertEmails": []any{}}, true, nil},
		"an address":      {templates.Functions, map[string]any{}, false, true},
		"a group":         {templates.Functions, map[string]any{"alertEmails": []any{}, "alertActionGroupIds": []any{"/g"}}, false, true},
		"disabled":        {templates.Functions, map[string]any{"alertEmails": []any{}, "alertsEnabled": false}, false, false},
		"azd":             {templates.Main, map[string]any{}, false, false},
		"azd, an address": {templates.Main, map[string]any{"alertEmails": []any{"a@example.com"}}, false, true},
	} {
		d, err := templates.Try(t, tc.stage, tc.parameters)
		if (err != nil) != tc.refused || tc.refused && !strings.Contains(err.Error(), "alertEmails: ") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		for _, r := range d.Of("Microsoft.Insights/scheduledQueryRules") {
			if r.At("properties", "enabled") != tc.enabled {
				t.Errorf("%s: %s: enabled is %v", name, r.Name, r.At("properties", "enabled"))
			}
		}
	}
}

// TestMissingTicksCountsRows: a query that counts returns one row with 0, at the end of the period,
// which Azure can leave out.
func TestMissingTicksCountsRows(t *testing.T) {
	t.Parallel()
	for _, r := range templates.Deploy(t, templates.Functions, nil).Of("Microsoft.Insights/scheduledQueryRules") {
		criterion, _ := r.At("properties", "criteria", "allOf", 0).(map[string]any)
		query, _ := criterion["query"].(string)
		if strings.HasSuffix(r.Name, "-missing-ticks") {
			if criterion["timeAggregation"] != "Count" || criterion["operator"] != "LessThan" || criterion["threshold"] != int64(1) || criterion["metricMeasureColumn"] != nil || strings.Contains(query, "summarize") {
				t.Errorf("%s: %v", r.Name, criterion)
			}
		} else if criterion["metricMeasureColumn"] != "Value" || !strings.Contains(query, "Value = ") {
			t.Errorf("%s: %v", r.Name, criterion)
		}
	}
}

func TestAPIErrorsRaiseAnAlert(t *testing.T) {
	t.Parallel()
	for _, r := range templates.Deploy(t, templates.Functions, nil).Of("Microsoft.Insights/scheduledQueryRules") {
		if query, _ := r.At("properties", "criteria", "allOf", 0, "query").(string); strings.HasPrefix(query, "AppRequests\n| where toint(ResultCode) between (500 .. 599)") {
			return
		}
	}
	t.Error("no alert reads AppRequests")
}

func TestBudget(t *testing.T) {
	t.Parallel()
	const budgetType = "Microsoft.Consumption/budgets"
	if found := templates.Deploy(t, templates.Functions, nil).Of(budgetType); len(found) > 0 {
		t.Errorf("%d budgets by default", len(found))
	}
	if _, err := templates.Try(t, templates.Functions, map[string]any{"monthlyBudget": int64(1000)}); err == nil || !strings.Contains(err.Error(), "budgetStart: ") {
		t.Errorf("without a start: %v", err)
	}
	d := templates.Deploy(t, templates.Functions, map[string]any{"monthlyBudget": int64(1000), "budgetStart": "2026-12-01"})
	group := templates.One(t, d, "Microsoft.Insights/actionGroups")
	notifications, _ := templates.One(t, d, budgetType).At("properties", "notifications").(map[string]any)
	for name, one := range notifications {
		if groups := one.(map[string]any)["contactGroups"]; !reflect.DeepEqual(groups, []any{group.ID}) {
			t.Errorf("%s notifies %v", name, groups)
		}
	}
	if len(notifications) != 2 {
		t.Errorf("the budget has the notifications %v", notifications)
	}
}

// TestServiceBusEndpointWaitsForTopics: the namespace refuses a change during another one.
func TestServiceBusEndpointWaitsForTopics(t *testing.T) {
	t.Parallel()
	for _, m := range parsed(t, "infra/shared/servicebus.bicep").Modules {
		waits, _ := m.Body.Value("dependsOn").(*bicep.Array)
		if waits == nil || len(waits.Items) != 1 || waits.Items[0].(*bicep.Reference).Text != "topic" {
			t.Errorf("%s does not wait for the topics", m.Text)
		}
	}
}

// TestLogsAreNotCollectedTwice: the host sends its logs to Application Insights.
func TestLogsAreNotCollectedTwice(t *testing.T) {
	t.Parallel()
	for _, r := range templates.Deploy(t, templates.Functions, nil).Of("Microsoft.Insights/diagnosticSettings") {
		if r.Scope.Type == "Microsoft.Web/sites" && (r.At("properties", "logs") != nil || r.At("properties", "metrics") == nil) {
			t.Errorf("the app's settings are %v", r.At("properties"))
		}
	}
}

// TestWorkbook reads the sections of the workbook, and compares the events that it selects with
// those of the program.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	d := templates.Deploy(t, templates.Functions, nil)
	text, _ := templates.One(t, d, "Microsoft.Insights/workbooks").At("properties", "serializedData").(string)
	var workbook struct {
		Items []struct {
			Content struct {
				JSON, Query             string
				CrossComponentResources []string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &workbook); err != nil {
		t.Fatal(err)
	}
	var sections []string
	queries := 0
	keys, err := os.ReadFile(filepath.Join("..", "internal", "logkey", "logkey.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range workbook.Items {
		if title, is := strings.CutPrefix(item.Content.JSON, "## "); is {
			title, _, _ = strings.Cut(title, "\n")
			sections = append(sections, title)
		}
		if item.Content.Query == "" {
			continue
		}
		queries++
		if !reflect.DeepEqual(item.Content.CrossComponentResources, []string{"Microsoft.OperationalInsights/workspaces/matoolkit-prod-log"}) {
			t.Errorf("the query reads %v:\n%s", item.Content.CrossComponentResources, item.Content.Query)
		}
		for _, event := range regexp.MustCompile(`Event\) == "([^"]*)"`).FindAllStringSubmatch(item.Content.Query, -1) {
			if !slices.Contains(alert.All, event[1]) {
				t.Errorf("there is no event %s", event[1])
			}
		}
		for _, attribute := range regexp.MustCompile(`Line\.([A-Z]\w*)`).FindAllStringSubmatch(item.Content.Query, -1) {
			if !strings.Contains(string(keys), `"`+attribute[1]+`"`) {
				t.Errorf("the programs do not log %s", attribute[1])
			}
		}
	}
	if want := []string{"Batches in progress", "Failures", "Throttling", "Queue age", "Request units"}; !slices.Equal(sections, want) || queries < len(want) {
		t.Errorf("%d queries in the sections %q, want %q", queries, sections, want)
	}
}

# Runs a custom function that is a PowerShell script: reads the job from standard input, signs in with the
# tokens that the manifest asks for, runs the script block and writes the answer.
#
#   Invoke-MatoolkitFunction {
#       param($Parameters, $Job)
#       @{ Count = (Get-MgUserMessage -UserId $Parameters.UserId -CountVariable n -Top 1).Count }
#   }
#
# Modules in the folder "modules" beside the script are found by their names.

function Invoke-MatoolkitFunction {
    [CmdletBinding()]
    param(
        # Gets the parameters and the job. What it returns is the result: nothing, or a hashtable.
        [Parameter(Mandatory, Position = 0)][scriptblock]$ScriptBlock
    )
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue'
    try {
        $call = [Console]::In.ReadToEnd() | ConvertFrom-Json
        $modules = Join-Path (Split-Path -Parent $MyInvocation.PSCommandPath) 'modules'
        if (Test-Path $modules) {
            $env:PSModulePath = $modules + [IO.Path]::PathSeparator + $env:PSModulePath
        }
        Connect-MatoolkitTenant $call.tenant
        $result = & $ScriptBlock $call.parameters $call.job
        $answer = @{ success = $true }
        if ($null -ne $result) {
            $answer.result = $result
        }
    } catch {
        $answer = @{ success = $false; error = @{ type = $_.Exception.GetType().Name; message = $_.Exception.Message } }
    }
    [Console]::Out.WriteLine(($answer | ConvertTo-Json -Compress -Depth 10))
}

# Connect-MatoolkitTenant signs in to the APIs that there are tokens for.
function Connect-MatoolkitTenant {
    [CmdletBinding()]
    param([Parameter(Position = 0)]$Tenant)
    if ($Tenant.tokens.graph) {
        $secure = ConvertTo-SecureString $Tenant.tokens.graph.token -AsPlainText -Force
        Connect-MgGraph -AccessToken $secure -NoWelcome | Out-Null
    }
    if ($Tenant.tokens.exchange) {
        Connect-ExchangeOnline -AccessToken $Tenant.tokens.exchange.token -Organization $Tenant.id -ShowBanner:$false | Out-Null
    }
}

Export-ModuleMember -Function Invoke-MatoolkitFunction

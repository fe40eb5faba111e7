$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$call = [Console]::In.ReadToEnd() | ConvertFrom-Json
try {
    [Console]::Error.WriteLine("ordering a badge for $($call.parameters.UserId)")
    $badge = Invoke-RestMethod -Method Put -Uri "$env:BADGE_URL/badges/$($call.parameters.UserId)" -Headers @{
        'Authorization'   = "Bearer $env:BADGE_TOKEN"
        'Idempotency-Key' = $call.job.effectId
    }
    $answer = @{ success = $true; result = @{ BadgeId = $badge.id } }
} catch {
    $answer = @{ success = $false; error = @{ type = $_.Exception.GetType().Name; message = $_.Exception.Message } }
}
[Console]::Out.WriteLine(($answer | ConvertTo-Json -Compress -Depth 10))

# Needs the image of worker/powershell.
Import-Module Matoolkit
Invoke-MatoolkitFunction {
    param($Parameters, $Job)
    $size = (Get-EXOMailboxStatistics -Identity $Parameters.Identity).TotalItemSize.Value
    @{ Bytes = $size.ToBytes() }
}

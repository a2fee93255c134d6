/** Starts the download of a file in the browser. */
export function saveFile(name: string, parts: BlobPart[], type = 'application/octet-stream'): void {
  const address = URL.createObjectURL(new Blob(parts, { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // Some browsers read the URL only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

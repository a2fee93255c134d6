/** Converts `mail-box` and `mail.box` to `MailBox`. */
export function toPascal(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9]|$)/g, (_, letter: string) =>
    letter.toUpperCase(),
  )
}

/** Converts `ListServices` to `listServices`. */
export function toLower(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1)
}

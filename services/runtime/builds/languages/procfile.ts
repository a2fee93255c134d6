const WEB = /^web[ \t]*:[ \t]*(\S.*)$/m

/** Returns the `web` command of a Procfile; undefined if absent. */
export function parseProcfile(text: string): string | undefined {
  return WEB.exec(text)?.[1]?.trim()
}

const WEB = /^web[ \t]*:[ \t]*(\S.*)$/m

/** The line of a Procfile that says how the program that answers over HTTP is started; undefined: there is none. */
export function parseProcfile(text: string): string | undefined {
  return WEB.exec(text)?.[1]?.trim()
}

/** Stands for what is not told. */
export const REDACTED = '********'

/** What an author may have forgotten to call secret. */
export const SECRET_NAME: RegExp = /secret|passw|token|credential|(?:api|private)[_-]?key/i

/** Of a URL. */
const LOGIN = /^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i

/** A URL without who logs in, and by what; any other text is as it was. */
export function redactUserinfo(text: string): string {
  return text.replace(LOGIN, `$1${REDACTED}@`)
}

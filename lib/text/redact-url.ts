/** A URL, or a text that was meant as one, as errors and logs show it: without what may be a user, a password or a token. */
export function hideSecret(text: string): string {
  return text.replace(/^((?:[^\s=]*=)?[a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1[hidden]@')
}

/** Terminal escape sequences (ECMA-48 §5.4, and operating system commands). */
const CONTROL_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Formats a log line for display. Escape sequences are removed, and control characters are shown as symbols such as
 * `␀`.
 */
export function toDisplayLine(line: string): string {
  return line.replaceAll(CONTROL_SEQUENCE, '').replaceAll(CONTROL, (character) => {
    const code = character.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : '�'
  })
}

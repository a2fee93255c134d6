/** What terminals take for colours and movements of the cursor (ECMA-48 §5.4, and operating system commands). */
const CONTROL_SEQUENCE = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/** A line of a log as a page shows it: without colours of terminals, other control characters as `␀` and the like. */
export function toDisplayLine(line: string): string {
  return line.replaceAll(CONTROL_SEQUENCE, '').replaceAll(CONTROL, (one) => {
    const code = one.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : '�'
  })
}

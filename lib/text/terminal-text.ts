/**
 * Characters that control a terminal or reorder its text: C0 except tab and line feed, DEL, C1 (ECMA-48), bidirectional
 * controls (Unicode Standard Annex 9, the class of CVE-2021-42574), and the line and paragraph separators.
 */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * Replaces terminal control characters with JSON escapes such as `\u001b`, so that JSON text stays valid. Preserves
 * tabs and line feeds.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(CONTROLS, toEscape)
}

function toEscape(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`
}

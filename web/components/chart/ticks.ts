/** Formats axis labels. A label equal to the previous one is blank, for example if all values are zero. */
export function toTicks(values: readonly number[], format: (value: number) => string): string[] {
  const texts = values.map(format)
  return texts.map((text, i) => (text === texts[i - 1] ? '' : text))
}

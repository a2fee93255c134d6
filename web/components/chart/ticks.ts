/** The texts of an axis: one that says the same as the one before it is left out, as where there is nothing but zero. */
export function toTicks(values: readonly number[], format: (value: number) => string): string[] {
  const texts = values.map(format)
  return texts.map((text, i) => (text === texts[i - 1] ? '' : text))
}

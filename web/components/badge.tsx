import type { ComponentChildren, JSX } from 'preact'

export type Tone = 'neutral' | 'good' | 'warning' | 'bad' | 'accent'

/** A short state in a colour; the words say it, too. */
export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone
  readonly children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}

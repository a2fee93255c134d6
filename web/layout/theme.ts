import { type ReadonlySignal, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'mx-theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const chosen = signal<Theme>(readTheme())

/** The chosen colours; `system`: those the browser prefers. */
export const theme: ReadonlySignal<Theme> = chosen

export function chooseTheme(next: Theme): void {
  chosen.value = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // Storage is off: it is kept as long as the page is.
  }
  applyTheme()
}

/** The one behind it in the list. */
export function nextTheme(): Theme {
  return THEMES[(THEMES.indexOf(chosen.value) + 1) % THEMES.length]!
}

/** Tells the style sheets. */
export function applyTheme(): void {
  const { dataset } = document.documentElement
  if (chosen.value === 'system') delete dataset['theme']
  else dataset['theme'] = chosen.value
}

function readTheme(): Theme {
  try {
    return THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system'
  } catch {
    return 'system'
  }
}

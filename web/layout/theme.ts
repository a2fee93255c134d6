import { type ReadonlySignal, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'mx-theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const selected = signal<Theme>(readTheme())

/** Selected theme; `system` follows the browser. */
export const theme: ReadonlySignal<Theme> = selected

export function chooseTheme(next: Theme): void {
  selected.value = next
  try {
    localStorage.setItem(KEY, next)
  } catch {
    // Without storage, the theme lasts until the page is closed.
  }
  applyTheme()
}

/** Next theme in the cycle. */
export function nextTheme(): Theme {
  return THEMES[(THEMES.indexOf(selected.value) + 1) % THEMES.length]!
}

/** Applies the theme to the document. */
export function applyTheme(): void {
  const { dataset } = document.documentElement
  if (selected.value === 'system') delete dataset['theme']
  else dataset['theme'] = selected.value
}

function readTheme(): Theme {
  try {
    return THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system'
  } catch {
    return 'system'
  }
}

import type { JSX } from 'preact'
import { Icon } from './icon.tsx'
import { chooseTheme, nextTheme, theme } from './theme.ts'

export function ThemeButton(): JSX.Element {
  return (
    <button type="button" class="quiet" onClick={() => chooseTheme(nextTheme())}>
      <Icon name="theme" /> Theme: {theme.value}
    </button>
  )
}

import type { JSX } from 'preact'

/** Stroke paths on a 24 by 24 grid. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM14 8h6V4h-6zM4 20h6v-4H4z',
  services: 'M4 5h16v6H4zM4 14h16v6H4zM8 8h.01M8 17h.01',
  runtime: 'M5 4l7 4 7-4M5 4v8l7 4 7-4V4M12 8v8M7 18l5 3 5-3',
  config: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4',
  store: 'M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0',
  events: 'M4 6h10M4 12h16M4 18h7M18 4v4M16 6h4',
  auth: 'M12 3l8 3v6c0 5-3.500 7.500-8 9-4.500-1.500-8-4-8-9V6zM9 12l2 2 4-4',
  gateway: 'M3 12h6M15 12h6M9 6v12M15 6v12M18 9l3 3-3 3',
  network: 'M12 5v6M12 11l-7 6M12 11l7 6M10 3h4v3h-4zM3 17h4v3H3zM17 17h4v3h-4z',
  menu: 'M4 6h16M4 12h16M4 18h16',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18z',
  logout: 'M10 4H4v16h6M14 8l4 4-4 4M18 12H9',
} as const

export type IconName = keyof typeof PATHS

/** Decorative icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

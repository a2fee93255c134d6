import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { LinkMessage, PeerMessage } from '../../services/network/messages.ts'
import { layOut, type PlacedServer } from './layout.ts'

export interface GraphProps {
  readonly root: PeerMessage
  /** Links of the root server. */
  readonly links: readonly LinkMessage[]
}

/** Margin in pixels for the names of the outermost servers. */
const SIDE_PX = 190
const TOP_PX = 40
const DOT_PX = 9
const MAX_NAME = 26

/** Network graph. The tables of the page contain the same data as text. */
export function Graph({ root, links }: GraphProps): JSX.Element {
  const { servers, links: lines } = useMemo(() => layOut(root), [root])
  const connected = new Set(links.filter(({ state }) => state === 'linked').map(({ id }) => id))
  const [left, width] = toRange(
    servers.map(({ x }) => x),
    SIDE_PX,
  )
  const [top, height] = toRange(
    servers.map(({ y }) => y),
    TOP_PX,
  )
  return (
    <section
      class="network-graph"
      aria-label="Network graph"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be reachable by keyboard (WCAG 2.1.1)
      tabIndex={0}
    >
      <svg
        role="img"
        aria-label={`${count(servers, 'server')} and ${count(lines, 'link')}, ${root.node.id} in the center`}
        width={width}
        height={height}
        viewBox={`${left} ${top} ${width} ${height}`}
      >
        {lines.map(({ from, to }) => {
          const [a, b] = [servers[from]!, servers[to]!]
          // Other servers report only established links.
          const isDown = a.hops === 0 && !connected.has(b.server.id)
          return (
            <line
              key={`${from} ${to}`}
              class={isDown ? 'link down' : 'link'}
              x1={a.x}
              y1={a.y}
              x2={b.x}
              y2={b.y}
            />
          )
        })}
        {servers.map((placed) => (
          <Dot key={placed.server.id} placed={placed} />
        ))}
      </svg>
    </section>
  )
}

/** Returns start and length of an axis. */
function toRange(
  values: readonly number[],
  margin: number,
): readonly [from: number, length: number] {
  const from = Math.min(...values) - margin
  return [from, Math.max(...values) + margin - from]
}

function count({ length }: readonly unknown[], noun: string): string {
  return `${length} ${noun}${length === 1 ? '' : 's'}`
}

function Dot({ placed: { server, hops, x, y } }: { readonly placed: PlacedServer }): JSX.Element {
  const isLeft = x < 0
  const name = server.id.length > MAX_NAME ? `${server.id.slice(0, MAX_NAME)}…` : server.id
  const [atX, anchor] =
    hops === 0
      ? ([0, 'middle'] as const)
      : ([x + (isLeft ? -2 : 2) * DOT_PX, isLeft ? 'end' : 'start'] as const)
  return (
    <g class={hops === 0 ? 'server self' : 'server'}>
      <title>
        {server.id} {server.address}
      </title>
      <circle cx={x} cy={y} r={hops === 0 ? DOT_PX + 3 : DOT_PX} />
      <text x={atX} y={hops === 0 ? y + 30 : y + 4} text-anchor={anchor}>
        {name}
      </text>
    </g>
  )
}

import { useState } from "preact/hooks";
import { useLive, type Live } from "../live";

interface Page<T> {
  items: T[];
  continuationToken?: string;
}

/** A list that is read page by page: the first page is live, further ones are added on demand. */
export function usePages<T>(read: (token?: string) => Promise<Page<T>>, depends: unknown[], every?: number): Live<Page<T>> & { items: T[]; more?: () => void } {
  const first = useLive(() => read(), depends, every);
  const [rest, set] = useState<{ of: string; items: T[]; token?: string } | null>(null);
  const key = JSON.stringify(depends);
  const own = rest?.of === key ? rest : null;
  const token = own ? own.token : first.data?.continuationToken;
  const more = async () => {
    const page = await read(token);
    set({ of: key, items: [...(own?.items ?? []), ...page.items], token: page.continuationToken });
  };
  return { ...first, items: [...(first.data?.items ?? []), ...(own?.items ?? [])], more: token ? () => void more() : undefined };
}

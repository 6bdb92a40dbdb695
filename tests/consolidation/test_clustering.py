"""What is linked by any chain of pairs ends in one cluster, whatever the order."""

from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.consolidation.resolution import connected_ids
from langgraph_engram.schema import Pair


def pair(older, newer, cosine=0.8):
    return Pair(older_id=older, newer_id=newer, jaccard=0.5, cosine=cosine)


LINKS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"), st.integers(70, 99)).filter(
        lambda link: link[0] != link[1]
    ),
    max_size=12,
)


@given(LINKS, st.integers(2, 8), st.randoms())
def test_clusters_share_no_record_in_whatever_order_pairs_come(links, most, random):
    """They stay within a limit; where all fit into one, all that is paired stands in some cluster."""
    pairs = [pair(older, newer, cosine / 100) for older, newer, cosine in links]

    found = connected_ids(pairs, most)

    members = [record_id for cluster in found for record_id in cluster]
    assert len(members) == len(set(members))
    assert all(2 <= len(cluster) <= most for cluster in found)
    assert connected_ids(random.sample(pairs, len(pairs)), most) == found
    if most == 8:
        assert set(members) == {record_id for link in links for record_id in link[:2]}
        assert all(any({older, newer} <= set(cluster) for cluster in found) for older, newer, _ in links)


def test_a_large_cluster_comes_apart_at_its_weakest_link():
    """Two close groups that one weak pair links are two clusters where three records are too many."""
    pairs = [pair("a", "b", 0.95), pair("b", "c", 0.71), pair("c", "d", 0.9)]

    assert connected_ids(pairs, 3) == [["a", "b"], ["c", "d"]]
    assert connected_ids(pairs, 4) == [["a", "b", "c", "d"]]


def test_parts_of_a_large_cluster_meet_again_over_a_later_record():
    """What was not asked about is asked when one more record resembles the survivors of both parts."""
    pairs = [pair("a", "b", 0.95), pair("c", "d", 0.9), pair("b", "c", 0.71)]
    first = connected_ids(pairs, 2)

    survivors = [cluster[-1] for cluster in first]
    later = connected_ids([pair(survivor, "new", 0.8) for survivor in survivors], 3)

    assert first == [["a", "b"], ["c", "d"]]
    assert later == [["b", "d", "new"]]

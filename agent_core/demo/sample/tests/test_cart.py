import unittest

from shop.cart import Line, receipt, subtotal, total

THREE = [Line("tea", 40.0), Line("rice", 30.0), Line("salt", 30.0)]


class CartTest(unittest.TestCase):
    def test_an_empty_cart_costs_nothing(self):
        self.assertEqual(total([]), 0)

    def test_subtotal_multiplies_by_count(self):
        self.assertEqual(subtotal([Line("tea", 2.5, 4)]), 10.0)

    def test_three_lines_get_ten_percent_off(self):
        self.assertEqual(total(THREE), 90.0)

    def test_a_member_gets_five_percent_off(self):
        self.assertEqual(total([Line("tea", 40.0)], member=True), 38.0)

    def test_a_member_with_three_lines_gets_both(self):
        self.assertEqual(total(THREE, member=True), 85.5)

    def test_the_receipt_ends_with_the_total(self):
        self.assertTrue(receipt(THREE).endswith("90.00"))


if __name__ == "__main__":
    unittest.main()
